"""Which classes lie in which file, so that a name loads its file alone."""

_FILES = {
    "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "parallel": "DataParallel",
    "modules.module": "Module",
    "modules.activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
    "LogSoftmax Mish "
    "MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink "
    "Softsign "
    "Tanh Tanhshrink Threshold",
    "modules.adaptive": "AdaptiveLogSoftmaxWithLoss",
    "modules.batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
    "SyncBatchNorm",
    "modules.channelshuffle": "ChannelShuffle",
    "modules.container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "modules.conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d "
    "LazyConv3d "
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "modules.distance": "CosineSimilarity PairwiseDistance",
    "modules.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "modules.flatten": "Flatten Unflatten",
    "modules.fold": "Fold Unfold",
    "modules.instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
    "LazyInstanceNorm3d",
    "modules.linear": "Bilinear Identity LazyLinear Linear",
    "modules.linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "modules.loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
    "HingeEmbeddingLoss "
    "HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss "
    "MultiLabelMarginLoss MultiLabelSoftMarginLoss "
    "MultiMarginLoss "
    "NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss",
    "modules.normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "modules.padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
    "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d "
    "ZeroPad2d "
    "ZeroPad3d",
    "modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "modules.pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
    "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d "
    "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d "
    "MaxUnpool1d "
    "MaxUnpool2d MaxUnpool3d",
    "modules.rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "modules.sparse": "Embedding EmbeddingBag",
    "modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "modules.transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
}
CONTENTS = {name: file for file, names in _FILES.items() for name in names.split()}
